"""mascon_array_api.py - the namespace of the Python array API over mascon; bridge.py says how."""
from bridge import PUBLIC

__array_api_version__ = "2023.12"
globals().update(PUBLIC)
