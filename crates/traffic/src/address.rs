//! Addresses of captures.

use qcnlab_wire::MacAddress;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address of a capture: of IP, or of Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// Of IPv4 or IPv6.
    Ip(IpAddr),
    /// Of Ethernet.
    Mac(MacAddress),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ip(ip) => ip.fmt(f),
            Address::Mac(mac) => mac.fmt(f),
        }
    }
}

/// Text that is no address.
#[derive(Debug, PartialEq, Eq)]
pub struct NoAddress;

impl FromStr for Address {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Address, NoAddress> {
        if let Ok(ip) = text.parse() {
            return Ok(Address::Ip(ip));
        }
        let parts: Vec<&str> = text.split([':', '-']).collect();
        let digits = |part: &str| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        let octet = |part: &&str| u8::from_str_radix(part, 16).ok().filter(|_| digits(part));
        let octets: Option<Vec<u8>> = parts.iter().map(octet).collect();
        octets.and_then(|octets| octets.try_into().ok()).map(|mac| Address::Mac(MacAddress(mac))).ok_or(NoAddress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_printed() {
        for text in ["10.0.0.1", "fe80::1", "02:00:00:00:00:0a"] {
            assert_eq!(text.parse::<Address>().map(|address| address.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("02-00-00-00-00-0A".parse::<Address>(), "02:00:00:00:00:0a".parse());
        for text in ["", "host1", "10.0.0", "10.0.0.1/8", "02:00:00:00:00", "02:00:00:00:00:+a", "02:00:00:00:00:0g"] {
            assert_eq!(text.parse::<Address>(), Err(NoAddress), "{text}");
        }
    }
}
