//! Files that a scenario names.

use super::fault::Fault;
use super::located::LocatedFault;
use super::types::Scenario;
use qcnlab_traffic::files;
use std::path::Path;

/// Replaces the names of CSV files by what the files hold. Names are relative to the folder of the scenario file.
pub(super) fn load_files(scenario: &mut Scenario) -> Result<(), LocatedFault> {
    let folder = Path::new(&scenario.origin.name).parent().unwrap_or(Path::new("")).to_owned();
    for (i, traffic) in scenario.traffic.iter_mut().enumerate() {
        let Some((name, text)) = traffic.arrivals.kind_mut().sheet() else { continue };
        if !text.contains('\n') {
            let path = folder.join(&*text);
            let why = |error: std::io::Error| Fault::File { path: path.display().to_string(), why: error.to_string() };
            *text = files::read_to_string(&path)
                .map_err(|error| LocatedFault::new(why(error), &[format!("traffic.{i}.{name}")]))?;
            traffic.file = Some(path.display().to_string());
        }
    }
    Ok(())
}
