//! Captures held against the law: a golden model for senders and switches.
//!
//! The reaction point and the congestion point are those of the schemes, the same code that the simulator runs. A
//! capture drives them: what it shows is input, and what it does not show, such as the random length of a cycle, is a
//! window in which every course is followed.

mod cp;
mod decoding;
mod deviation;
mod error;
mod frames;
mod input;
mod law;
mod report;
mod rp;
mod sequence;
mod text;
mod tolerances;
mod variants;
mod window;

pub use error::ConformError;
pub use tolerances::{ConformOptions, Tolerances};

use std::path::Path;

/// Hold every sender of a capture against the law of the reaction point; return the report as JSON.
///
/// # Errors
/// When the capture cannot be read, or does not say what a verdict takes.
pub fn conform_rp(file: &Path, options: &ConformOptions) -> Result<String, ConformError> {
    Ok(report::reaction_points_report(&rp::judge(file, options)?, options).to_string())
}

/// Hold the congestion point of a port against its law; return the report as JSON.
///
/// # Errors
/// When the capture cannot be read, or does not say what a verdict takes.
pub fn conform_cp(file: &Path, options: &ConformOptions) -> Result<String, ConformError> {
    Ok(report::congestion_point_report(&cp::judge(file, options)?, options).to_string())
}

/// The port that the comment of a CNM in our captures names.
fn sampled_at(comment: &str) -> Option<&str> {
    let rest = comment.strip_prefix("sampled at ")?;
    Some(rest.split(';').next().unwrap_or(rest).trim())
}
