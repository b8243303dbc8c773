"""Tests of programs that use a GPU: is a test slower than it was?"""
