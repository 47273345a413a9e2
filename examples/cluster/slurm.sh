#!/bin/bash
#SBATCH --job-name=qcnlab
#SBATCH --ntasks=16
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=1G
#SBATCH --time=02:00:00
# A scheduler, a worker for each task but one, and the sweep, in one allocation. Submit it again when the time is over:
# it goes on where it was.
set -euo pipefail
source qcnlab-env/bin/activate
scheduler="$(hostname):8786"
dask scheduler --port 8786 --no-dashboard &
srun --ntasks=15 dask worker "tcp://$scheduler" --nthreads 1 --no-dashboard --death-timeout 60 &
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
# A sweep ends at once where nobody answers, so wait until the scheduler does: two minutes at most.
for _ in {1..600}; do (: <"/dev/tcp/${scheduler/:/\/}") 2>/dev/null && break; sleep 0.2; done
qcnlab sweep og-hotspot-2src-10g-to-500m-rtt10us --vary topology.sources=2..20 --reps 20 --on "dask://$scheduler" -o hot
