//! What every fuzz target asks of a format.

use qcnlab_wire::Codec;
use std::fmt::{Display, Write};

/// A sink that counts: printing is run, and nothing is kept.
struct Count(usize);

impl Write for Count {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

fn prints(value: &dyn Display) {
    let mut count = Count(0);
    write!(count, "{value}").expect("counting cannot fail");
    assert!(count.0 > 0, "prints nothing");
}

/// Octets decode to a value that prints and encodes to the same octets, or to an error that prints.
pub fn identity<'a, T: Codec<'a> + Display>(octets: &'a [u8]) {
    match T::decode(octets) {
        Err(error) => prints(&error),
        Ok((value, rest)) => {
            prints(&value);
            let consumed = &octets[..octets.len() - rest.len()];
            let mut room = [0; 4096];
            if value.encoded_len() <= room.len() {
                let written = value.encode(&mut room).expect("what was decoded can be encoded");
                assert_eq!(&room[..written], consumed);
            }
        }
    }
}
