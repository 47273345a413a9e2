//! What goes in and out: text and numbers in memory that JavaScript reads and writes.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for an input of `octets` and returns where it is to be written.
#[unsafe(no_mangle)]
pub extern "C" fn input(octets: usize) -> *mut u8 {
    static HOOK: Once = Once::new();
    // A panic ends the module with a trap; its message stays as the answer.
    HOOK.call_once(|| panic::set_hook(Box::new(|info| put(info.to_string().into_bytes()))));
    INPUT.with_borrow_mut(|input| {
        *input = vec![0; octets];
        input.as_mut_ptr()
    })
}

/// Returns where the answer of the last call begins.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(Vec::as_ptr)
}

/// Returns how many octets the answer of the last call has.
#[unsafe(no_mangle)]
pub extern "C" fn answer_octets() -> usize {
    ANSWER.with_borrow(Vec::len)
}

/// The input, as text.
pub(crate) fn argument() -> String {
    INPUT.with_borrow(|input| String::from_utf8_lossy(input).into_owned())
}

/// Leaves a text as the answer; returns what the call returns.
pub(crate) fn give(result: Result<String, String>) -> u32 {
    let failed = u32::from(result.is_err());
    let (Ok(text) | Err(text)) = result;
    put(text.into_bytes());
    failed
}

/// Leaves numbers as the answer.
pub(crate) fn give_numbers(numbers: &[f64]) -> u32 {
    put(numbers.iter().flat_map(|number| number.to_le_bytes()).collect());
    0
}

fn put(octets: Vec<u8>) {
    ANSWER.with_borrow_mut(|answer| *answer = octets);
}
