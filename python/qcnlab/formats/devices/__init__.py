"""A scenario as lines to paste: dcb and mlnx_qos of hosts, EOS, NX-OS and Junos of switches.

Each line has its unit and reason as a comment. What a system cannot be told is listed. Where a word
or a unit of a system is not certain, the line is not written, and that is listed, too.
"""
