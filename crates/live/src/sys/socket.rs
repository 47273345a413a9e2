//! Sockets that the standard library does not have: packet sockets, netlink, and options of TCP.
#![allow(unsafe_code)]

use super::{SysError, checked};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Frames that one call takes from the kernel at most.
pub(crate) const BATCH: usize = 32;
/// Octets of the longest frame.
pub(crate) const ROOM: usize = 9216 + 64;
/// Room for what the kernel says beside a frame.
const ASIDE: usize = 64;

fn open(domain: i32, kind: i32, protocol: i32, what: &str) -> Result<OwnedFd, SysError> {
    // SAFETY: plain numbers.
    let descriptor = unsafe { libc::socket(domain, kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, protocol) };
    checked(descriptor, what)?;
    // SAFETY: the descriptor was just opened, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sets an option that is a whole number.
fn set(socket: BorrowedFd<'_>, level: i32, option: i32, value: i32, what: &str) -> Result<(), SysError> {
    let pointer = (&raw const value).cast();
    let size = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the value is an int that lives through the call, and the size is its own.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer, size) }, what).map(drop)
}

/// Sets for how long a call of a socket may block, us.
fn set_timeout(socket: BorrowedFd<'_>, option: i32, most_us: u32) {
    let most = libc::timeval { tv_sec: (most_us / 1_000_000).into(), tv_usec: (most_us % 1_000_000).into() };
    let size = size_of::<libc::timeval>() as libc::socklen_t;
    // SAFETY: the timeval lives through the call, and the size is its own.
    let _ = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const most).cast(), size) };
}

/// Reads an option of `N` octets; returns how many the kernel filled.
fn get<const N: usize>(socket: BorrowedFd<'_>, level: i32, option: i32) -> io::Result<([u8; N], usize)> {
    let mut value = [0u8; N];
    let mut size = N as libc::socklen_t;
    // SAFETY: the room has `size` octets, and both live through the call.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, value.as_mut_ptr().cast(), &raw mut size) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok((value, size as usize)) }
}

/// The index of an interface in the namespace of the calling thread.
pub(crate) fn interface_index(name: &str) -> Result<i32, SysError> {
    let text = std::ffi::CString::new(name).map_err(|error| SysError::new(name, error.into()))?;
    // SAFETY: the text ends with a zero and lives through the call.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(SysError::last(format!("find the interface {name}"))),
        index => Ok(index as i32),
    }
}

/// A socket that sends and receives whole frames.
#[derive(Debug)]
pub(crate) struct PacketSocket(OwnedFd);

fn link_address(interface: i32, protocol: u16) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.to_be(),
        sll_ifindex: interface,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr: [0; 8],
    }
}

impl PacketSocket {
    /// Opens a socket on one interface of the calling thread's namespace, or on all of them.
    pub(crate) fn open(interface: Option<i32>) -> Result<PacketSocket, SysError> {
        let socket = open(libc::AF_PACKET, libc::SOCK_RAW, 0, "open a packet socket")?;
        let of = socket.as_fd();
        set(of, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1, "have VLAN tags told")?;
        set(of, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1, "leave out what is sent")?;
        set(of, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1, "pass by queueing disciplines")?;
        const BUFFER: i32 = 8 << 20;
        if set(of, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER, "set the receive buffer").is_err() {
            set(of, libc::SOL_SOCKET, libc::SO_RCVBUF, BUFFER, "set the receive buffer")?;
        }
        let address = link_address(interface.unwrap_or(0), libc::ETH_P_ALL as u16);
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is a sockaddr_ll that lives through the call, and the size is its own.
        let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) };
        checked(bound, "bind a packet socket")?;
        Ok(PacketSocket(socket))
    }

    /// Opens a socket that sends and receives nothing.
    pub(crate) fn open_to_send() -> Result<PacketSocket, SysError> {
        let socket = open(libc::AF_PACKET, libc::SOCK_RAW, 0, "open a packet socket")?;
        set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1, "pass by queueing disciplines")?;
        Ok(PacketSocket(socket))
    }

    /// Sends a frame over an interface.
    pub(crate) fn send(&self, interface: i32, frame: &[u8]) -> io::Result<()> {
        let address = link_address(interface, 0);
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: frame and address live through the call, with their own sizes.
        let sent = unsafe {
            let to = (&raw const address).cast();
            libc::sendto(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), libc::MSG_DONTWAIT, to, size)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Frames that found no room in the receive buffer since this was last asked.
    pub(crate) fn drops(&self) -> u64 {
        // tpacket_stats: packets, drops.
        let Ok((stats, _)) = get::<8>(self.0.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS) else { return 0 };
        u64::from(u32::from_ne_bytes([stats[4], stats[5], stats[6], stats[7]]))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A frame as the kernel hands it over: without its outer VLAN tag, which stands beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    /// The interface it came over.
    pub(crate) interface: i32,
    /// Its octets.
    pub(crate) octets: &'a [u8],
    /// EtherType and control information of the VLAN tag that the kernel took off.
    pub(crate) tag: Option<(u16, u16)>,
    /// It was longer than there is room for.
    pub(crate) cut: bool,
}

/// Room for a batch of frames.
pub(crate) struct Batch {
    frames: Vec<u8>,
    asides: Vec<[u64; ASIDE / 8]>,
    lengths: Vec<Lengths>,
}

#[derive(Clone, Copy, Default)]
struct Lengths {
    length: usize,
    aside: usize,
    interface: i32,
    cut: bool,
}

impl Batch {
    pub(crate) fn new() -> Batch {
        Batch { frames: vec![0; BATCH * ROOM], asides: vec![[0; ASIDE / 8]; BATCH], lengths: Vec::with_capacity(BATCH) }
    }

    /// Receives what is there, up to a batch; returns the number of frames.
    pub(crate) fn receive(&mut self, socket: &PacketSocket) -> io::Result<usize> {
        self.lengths.clear();
        let mut addresses = [link_address(0, 0); BATCH];
        let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
        // SAFETY: an mmsghdr is plain data, for which all zeros are a value.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        let rooms = self.frames.chunks_exact_mut(ROOM).zip(&mut self.asides);
        for (index, (frame, aside)) in rooms.enumerate() {
            parts[index] = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: ROOM };
            let header = &mut messages[index].msg_hdr;
            header.msg_name = (&raw mut addresses[index]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            header.msg_iov = &raw mut parts[index];
            header.msg_iovlen = 1;
            header.msg_control = aside.as_mut_ptr().cast();
            header.msg_controllen = ASIDE;
        }
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: each header points to a frame's room, an address and room beside it, all of which live through the
        // call and are told with their own sizes; no timeout.
        let got = unsafe {
            libc::recvmmsg(socket.0.as_raw_fd(), messages.as_mut_ptr(), BATCH as u32, flags, std::ptr::null_mut())
        };
        if got < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(error),
            };
        }
        for (message, address) in messages.iter().zip(&addresses).take(got as usize) {
            self.lengths.push(Lengths {
                length: (message.msg_len as usize).min(ROOM),
                aside: message.msg_hdr.msg_controllen.min(ASIDE),
                interface: address.sll_ifindex,
                cut: message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            });
        }
        Ok(self.lengths.len())
    }

    /// A frame of the last batch.
    pub(crate) fn frame(&self, index: usize) -> Received<'_> {
        let lengths = self.lengths[index];
        let start = index * ROOM;
        Received {
            interface: lengths.interface,
            octets: &self.frames[start..start + lengths.length],
            tag: vlan_tag(&self.asides[index], lengths.aside),
            cut: lengths.cut,
        }
    }
}

/// The VLAN tag among what the kernel says beside a frame: a `cmsghdr` (length, level, kind) and a `tpacket_auxdata`
/// (status, length, captured, offsets, control information, EtherType).
fn vlan_tag(aside: &[u64; ASIDE / 8], length: usize) -> Option<(u16, u16)> {
    let octets: Vec<u8> = aside.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let octets = octets.get(..length)?;
    let word = |at: usize| Some(u32::from_ne_bytes(octets.get(at..at + 4)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_ne_bytes(octets.get(at..at + 2)?.try_into().ok()?));
    const HEAD: usize = 16;
    if (word(8)?, word(12)?) != (libc::SOL_PACKET as u32, libc::PACKET_AUXDATA as u32) {
        return None;
    }
    let status = word(HEAD)?;
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let ether_type = if known { half(HEAD + 18)? } else { 0x8100 };
    Some((ether_type, half(HEAD + 16)?))
}

/// A netlink socket for routes, addresses and links.
pub(crate) struct Netlink(OwnedFd);

impl Netlink {
    /// Opens one in the namespace of the calling thread.
    pub(crate) fn open() -> Result<Netlink, SysError> {
        // SAFETY: plain numbers.
        let descriptor =
            unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
        checked(descriptor, "open a netlink socket")?;
        // SAFETY: the descriptor was just opened, and nobody else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
        // The kernel answers at once, or not at all.
        set_timeout(socket.as_fd(), libc::SO_RCVTIMEO, 1_000_000);
        Ok(Netlink(socket))
    }

    /// Sends a message and reads the answer.
    pub(crate) fn ask(&self, message: &[u8]) -> io::Result<Vec<u8>> {
        // SAFETY: the message lives through the call, with its own length.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut answer = vec![0u8; 1 << 15];
        // SAFETY: the room lives through the call, with its own length.
        let got = unsafe { libc::recv(self.0.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        answer.truncate(got as usize);
        Ok(answer)
    }
}

/// Counts the datagrams that wait at a socket, takes them off, and returns how many there were and their octets.
pub(crate) fn take_datagrams(socket: BorrowedFd<'_>) -> (u64, u64) {
    const MOST: usize = 64;
    let mut room = [[0u8; 16]; MOST];
    let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MOST];
    // SAFETY: an mmsghdr is plain data, for which all zeros are a value.
    let mut messages: [libc::mmsghdr; MOST] = unsafe { std::mem::zeroed() };
    for (index, each) in room.iter_mut().enumerate() {
        parts[index] = libc::iovec { iov_base: each.as_mut_ptr().cast(), iov_len: each.len() };
        messages[index].msg_hdr.msg_iov = &raw mut parts[index];
        messages[index].msg_hdr.msg_iovlen = 1;
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: each header points to room of 16 octets that lives through the call; longer datagrams are cut. No timeout.
    let got =
        unsafe { libc::recvmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), MOST as u32, flags, std::ptr::null_mut()) };
    let taken = messages.iter().take(got.max(0) as usize);
    taken.fold((0, 0), |(count, octets), message| (count + 1, octets + u64::from(message.msg_len)))
}

/// Sets the largest window that a TCP socket offers.
pub(crate) fn clamp_window(socket: BorrowedFd<'_>, octets: u32) -> Result<(), SysError> {
    let octets = i32::try_from(octets).unwrap_or(i32::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, octets, "clamp a TCP window")
}

/// Marks what a socket sends (`SO_PRIORITY`): a shaper of the kernel's tells its classes apart by it.
pub(crate) fn set_mark(socket: BorrowedFd<'_>, mark: u32) -> Result<(), SysError> {
    set(socket, libc::SOL_SOCKET, libc::SO_PRIORITY, mark.cast_signed(), "mark a socket")
}

/// Has a UDP socket say when the kernel drops what it sends.
pub(crate) fn tell_drops(socket: BorrowedFd<'_>) -> Result<(), SysError> {
    set(socket, libc::IPPROTO_IP, libc::IP_RECVERR, 1, "have drops told")
}

/// Sets how many octets of a socket's may wait in the kernel, about twice as many with what it keeps beside them.
pub(crate) fn set_send_buffer(socket: BorrowedFd<'_>, octets: u64) -> Result<(), SysError> {
    let octets = i32::try_from(octets).unwrap_or(i32::MAX / 2);
    if set(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, octets, "set the send buffer").is_ok() {
        return Ok(());
    }
    set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, octets, "set the send buffer")
}

/// Sets the receive buffer of a socket.
pub(crate) fn set_receive_buffer(socket: BorrowedFd<'_>, octets: u32) -> Result<(), SysError> {
    let octets = i32::try_from(octets).unwrap_or(i32::MAX);
    set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, octets, "set the receive buffer")
}

/// Chooses a TCP socket's congestion control.
pub(crate) fn set_congestion_control(socket: BorrowedFd<'_>, name: &str) -> Result<(), SysError> {
    let size = name.len() as libc::socklen_t;
    // SAFETY: the name lives through the call, with its own length.
    let set = unsafe {
        let option = libc::TCP_CONGESTION;
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, option, name.as_ptr().cast(), size)
    };
    checked(set, &format!("choose TCP {name}")).map(drop)
}

/// What the kernel says of a TCP connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpState {
    /// Congestion window, segments.
    pub(crate) window: u32,
    /// Segments sent and not acknowledged.
    pub(crate) unacknowledged: u32,
    /// Largest segment, octets.
    pub(crate) segment: u32,
    /// Segments sent again.
    pub(crate) retransmitted: u32,
    /// Segments sent, acknowledgements included.
    pub(crate) sent: u32,
}

/// Asks the kernel about a TCP connection.
pub(crate) fn tcp_state(socket: BorrowedFd<'_>) -> Option<TcpState> {
    // The fields of tcp_info that every kernel since 4.2 has, by their offsets.
    let (info, known) = get::<160>(socket, libc::IPPROTO_TCP, libc::TCP_INFO).ok()?;
    let word = |at: usize| {
        let octets: [u8; 4] = info.get(at..at + 4)?.try_into().ok()?;
        (at + 4 <= known).then(|| u32::from_ne_bytes(octets))
    };
    Some(TcpState {
        segment: word(16)?,
        unacknowledged: word(24)?,
        window: word(80)?,
        retransmitted: word(100)?,
        sent: word(136).unwrap_or(0),
    })
}

/// Connects a TCP socket from an address and port of our choice, with a mark if it is to have one.
pub(crate) fn connect_from(
    from: std::net::SocketAddrV4,
    to: std::net::SocketAddrV4,
    mark: Option<u32>,
) -> io::Result<std::net::TcpStream> {
    // SAFETY: plain numbers.
    let descriptor = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, and nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let _ = set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1, "reuse an address");
    if let Some(mark) = mark {
        set_mark(socket.as_fd(), mark).map_err(|error| error.source)?;
    }
    // Without it a connect may take minutes.
    set_timeout(socket.as_fd(), libc::SO_SNDTIMEO, 500_000);
    let address = |of: std::net::SocketAddrV4| libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: of.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(of.ip().octets()) },
        sin_zero: [0; 8],
    };
    let (from, to, size) = (address(from), address(to), size_of::<libc::sockaddr_in>() as libc::socklen_t);
    // SAFETY: both addresses are sockaddr_in that live through the calls, and the size is their own.
    let failed = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const from).cast(), size) < 0
            || libc::connect(socket.as_raw_fd(), (&raw const to).cast(), size) < 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(std::net::TcpStream::from(socket)) }
}
