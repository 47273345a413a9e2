//! IPv4 at its edges: fragments, options, packets without data; the CRC of RoCEv2 over headers of each length.

use proptest::prelude::*;
use qcnlab_wire::*;

/// Octets that read as UDP from port 7 to port 9, of a datagram of 8 + 992 = 1000 = 0x3E8 octets.
const START_OF_A_DATAGRAM: [u8; 12] = [0, 7, 0, 9, 0x03, 0xE8, 0, 0, 0xAA, 0xBB, 0xCC, 0xDD];

/// A packet with these flags and fragment offset, in units of 8 octets, that carries `protocol`.
fn fragment(flags_and_offset: u16, protocol: u8, behind: &[u8]) -> Vec<u8> {
    let [high, low] = flags_and_offset.to_be_bytes();
    let length = 20 + behind.len() as u8;
    let header = [0x45, 0, 0, length, 0, 1, high, low, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&header[..], behind].concat()
}

/// RFC 791: only the first fragment has the header of what it carries.
#[test]
fn later_fragments_stay_octets() {
    const MORE: u16 = 0x2000;
    let whole_datagram = [0, 7, 0, 9, 0, 12, 0, 0, 0xAA, 0xBB, 0xCC, 0xDD];
    let start_of_tcp = [0, 7, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0, 9, 0, 0, 0, 0];
    for (flags_and_offset, protocol, behind) in [
        (1, 17, &whole_datagram[..]),         // the last one, 8 octets from the start
        (MORE | 0x1FFF, 17, &whole_datagram), // the last place there is
        (1, 6, &start_of_tcp),
        (MORE | 185, 6, &start_of_tcp), // 1480 octets from the start
        // The first one of a datagram of which there is less than its length says.
        (MORE, 17, &START_OF_A_DATAGRAM),
        (MORE, 17, &whole_datagram),
    ] {
        let octets = fragment(flags_and_offset, protocol, behind);
        let (packet, rest) = Ipv4Packet::decode(&octets).unwrap();
        assert_eq!(packet.segment, Segment::Other(behind), "{flags_and_offset:#06x} {protocol}");
        assert_eq!(packet.header.fragment_offset.value(), flags_and_offset & 0x1FFF);
        assert_eq!(packet.header.more_fragments, flags_and_offset & MORE != 0);
        assert!(rest.is_empty());
        assert_eq!(packet.to_vec().unwrap(), octets);
    }
    // A first fragment of TCP has the whole header: what follows is a stream, however long.
    let first = fragment(MORE, 6, &start_of_tcp);
    let Segment::Tcp { header, payload, .. } = Ipv4Packet::decode(&first).unwrap().0.segment else { panic!("TCP") };
    assert_eq!((header.sequence_number, payload), (1, &[][..]));
    // Without flags the same octets are a datagram.
    let whole = fragment(0, 17, &whole_datagram);
    let Segment::Udp { header, payload } = Ipv4Packet::decode(&whole).unwrap().0.segment else { panic!("UDP") };
    assert_eq!((header.destination_port, payload), (9, UdpPayload::Other(&[0xAA, 0xBB, 0xCC, 0xDD])));
}

/// A total length of 20 is that of the header; what stands behind it in the frame is padding.
#[test]
fn a_packet_may_be_a_header_alone() {
    let octets = [&fragment(0, 253, &[])[..], &[0; 26]].concat();
    let (packet, rest) = Ipv4Packet::decode(&octets).unwrap();
    assert_eq!((packet.segment, packet.trailer), (Segment::Other(&[]), &[][..]));
    assert_eq!(rest, [0; 26]);
}

/// A packet over RoCEv2 without data, of one queue pair to another: sequence number 100, to queue pair 0x11.
fn send_only(options: &[u8]) -> Vec<u8> {
    let words = 5 + options.len() as u8 / 4;
    let total = 20 + options.len() as u8 + 8 + 12 + 4;
    let header = [0x40 | words, 0, 0, total, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let datagram = [0xC0, 0, 0x12, 0xB7, 0, 24, 0, 0];
    let base = [0x04, 0, 0xFF, 0xFF, 0, 0, 0, 0x11, 0, 0, 0, 100];
    [&header[..], options, &datagram, &base, &[0; 4]].concat()
}

/// The shortest packet has 20 + 8 + 12 + 4 = 44 octets. Its CRC, and that of the same with four octets of options, are
/// `zlib.crc32` of Python over 8 octets of ones and the masked packet, which agrees with scapy on its packet.
#[test]
fn the_invariant_crc_needs_whole_headers() {
    let shortest = send_only(&[]);
    assert_eq!(shortest.len(), 44);
    assert_eq!(RocePacket::invariant_crc(&shortest), Some([0x47, 0x1F, 0x44, 0x38]));
    // Three times "no operation", and the end of options.
    let with_options = send_only(&[1, 1, 1, 0]);
    assert_eq!(RocePacket::invariant_crc(&with_options), Some([0xD9, 0x99, 0x04, 0x94]));
    for (packet, whole) in [(&shortest, 44), (&with_options, 48)] {
        for cut in 0..whole {
            assert_eq!(RocePacket::invariant_crc(&packet[..cut]), None, "{cut} of {whole}");
        }
    }
    // No header of IPv4 has fewer than 5 words, however long the packet.
    for words in 0..5 {
        let mut octets = [0; 100];
        octets[0] = 0x40 | words;
        assert_eq!(RocePacket::invariant_crc(&octets), None, "{words}");
    }
}

/// The longest headers there are: 60 octets of IPv4, 8 of UDP, 12 and 16 of a CNP, 4 of CRC, 100 in all. A packet sealed
/// with them has the CRC of its octets.
#[test]
fn the_longest_headers_are_sealed() {
    let header = Ipv4Header {
        options: HeaderOptions::try_new(&[1; 40]).unwrap(),
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 2],
        time_to_live: 64,
        ..Ipv4Header::default()
    };
    let datagram = UdpHeader { source_port: 49_152, destination_port: 4791, ..UdpHeader::default() };
    let segment = Segment::Udp { header: datagram, payload: UdpPayload::Roce(RocePacket::cnp(0x11)) };
    let octets = Ipv4Packet { header, reserved: false, segment, trailer: &[] }.sealed().unwrap().to_vec().unwrap();
    assert_eq!(octets.len(), 100);
    let crc = RocePacket::invariant_crc(&octets).unwrap();
    assert_eq!(octets[96..], crc);
    assert_ne!(crc, [0; 4]);
}

/// Octets that begin as a header may: with any number of words, and too short or long enough.
fn like_headers() -> impl Strategy<Value = Vec<u8>> {
    (any::<[u8; 2]>(), proptest::collection::vec(any::<u8>(), 0..120)).prop_map(|([first, words], mut octets)| {
        if octets.len() > 20 {
            octets[0] = if first < 250 { 0x40 | words & 0x0F } else { first };
            octets[2] = 0;
            octets[3] = octets.len() as u8;
            octets[6] &= if first & 1 == 0 { 0x80 } else { 0xFF };
            octets[9] = if words & 0x10 == 0 { 6 } else { 17 };
        }
        octets
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// What `etherparse` reads of a header, field by field, and why it refuses one; and the checksums that it works out.
    #[test]
    fn headers_are_read_as_another_library_reads_them(octets in like_headers()) {
        use etherparse::{Ipv4Header as TheirIpv4, TcpHeader as TheirTcp, UdpHeader as TheirUdp};
        let theirs = TheirIpv4::from_slice(&octets);
        let ours = Ipv4Packet::decode(&octets);
        let Ok((theirs, behind)) = theirs else {
            prop_assert!(ours.is_err());
            return Ok(());
        };
        prop_assume!(usize::from(theirs.total_len) >= theirs.header_len());
        let refused = usize::from(theirs.total_len) > octets.len() || match theirs.protocol.0 {
            _ if theirs.fragment_offset.value() > 0 => false,
            6 => TheirTcp::from_slice(behind).is_err(),
            17 if !theirs.more_fragments => {
                let length = behind.get(4..6).map_or(0, |length| usize::from(length[0]) << 8 | usize::from(length[1]));
                prop_assume!(behind.len() < 8 || behind[2..4] != 4791_u16.to_be_bytes());
                !(8..=behind.len()).contains(&length)
            }
            _ => false,
        };
        prop_assert_eq!(ours.is_err(), refused, "{:?}", ours);
        let Ok((packet, _)) = ours else { return Ok(()) };
        let header = &packet.header;
        prop_assert_eq!(
            (header.dscp.value(), header.ecn.value(), header.total_len, header.identification),
            (theirs.dscp.value(), theirs.ecn.value(), theirs.total_len, theirs.identification)
        );
        prop_assert_eq!(
            (header.dont_fragment, header.more_fragments, header.fragment_offset.value(), header.time_to_live),
            (theirs.dont_fragment, theirs.more_fragments, theirs.fragment_offset.value(), theirs.time_to_live)
        );
        prop_assert_eq!(
            (header.protocol.0, header.header_checksum, header.source, header.destination, header.options.as_slice()),
            (theirs.protocol.0, theirs.header_checksum, theirs.source, theirs.destination, &theirs.options[..])
        );
        prop_assert_eq!(header.calc_header_checksum(), theirs.calc_header_checksum());
        prop_assert_eq!(packet.to_vec().unwrap(), &octets[..packet.encoded_len()]);
        let Ok(sealed) = packet.clone().sealed() else { return Ok(()) };
        match (&packet.segment, &sealed.segment) {
            (Segment::Tcp { header, payload, .. }, Segment::Tcp { header: sealed, .. }) => {
                let (theirs, _) = TheirTcp::from_slice(behind).unwrap();
                prop_assert_eq!(
                    (header.source_port, header.destination_port, header.sequence_number, header.acknowledgment_number),
                    (theirs.source_port, theirs.destination_port, theirs.sequence_number, theirs.acknowledgment_number)
                );
                prop_assert_eq!(
                    (header.ns, header.fin, header.syn, header.rst, header.psh, header.ack, header.urg, header.ece),
                    (theirs.ns, theirs.fin, theirs.syn, theirs.rst, theirs.psh, theirs.ack, theirs.urg, theirs.ece)
                );
                prop_assert_eq!(
                    (header.cwr, header.window_size, header.checksum, header.urgent_pointer, header.options.as_slice()),
                    (theirs.cwr, theirs.window_size, theirs.checksum, theirs.urgent_pointer, theirs.options.as_slice())
                );
                let addresses = (packet.header.source, packet.header.destination);
                prop_assert_eq!(Ok(sealed.checksum), theirs.calc_checksum_ipv4_raw(addresses.0, addresses.1, payload));
            }
            (Segment::Udp { header, payload: UdpPayload::Other(payload) }, Segment::Udp { header: sealed, .. }) => {
                let theirs = TheirUdp::from_slice(behind).unwrap().0;
                prop_assert_eq!(
                    (header.source_port, header.destination_port, header.length, header.checksum),
                    (theirs.source_port, theirs.destination_port, theirs.length, theirs.checksum)
                );
                let addresses = (packet.header.source, packet.header.destination);
                prop_assert_eq!(Ok(sealed.checksum), theirs.calc_checksum_ipv4_raw(addresses.0, addresses.1, payload));
            }
            _ => {}
        }
    }
}
