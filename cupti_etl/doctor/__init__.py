"""Can this machine capture, and if not, what is to be done?"""
