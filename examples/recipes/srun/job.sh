#!/bin/sh
#SBATCH --job-name=train --ntasks=4 --output=job.%j.out
srun --export=ALL,LD_PRELOAD=libgpushim.so,GPUSHIM_OUT="traces.$SLURM_JOB_ID/" python3 train.py
code=$?
gpushim report "traces.$SLURM_JOB_ID" >report.txt
exit "$code"
