"""A trace over Arrow Flight SQL, the protocol of ADBC's driver ``flightsql``."""
