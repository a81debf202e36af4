using Weir.Cli.Commands.Load.Options;
using Weir.Cli.Commands.Load.Work;

namespace Weir.Cli.Commands.Load.Arms;

/// <summary>Makes the work that the settings ask for.</summary>
internal static class LoadWorks
{
    public static async Task<LoadWork> CreateAsync(LoadSettings settings, CancellationToken cancellationToken)
    {
        LoadWork work = settings.Workload switch
        {
            WorkloadKind.Cpu => CpuWork.Calibrate(settings.Grain),
            WorkloadKind.Io => await IoWork.StartAsync(settings.Grain, cancellationToken).ConfigureAwait(false),
            WorkloadKind.Mixed => await MixedWork.StartAsync(settings.Grain, cancellationToken).ConfigureAwait(false),
            WorkloadKind.Alloc => new AllocWork(settings.GrainBytes),
            WorkloadKind.Hash => new HashWork(settings.Input!),
            _ => new NoopWork(),
        };
        return settings.FailRate > 0 ? new FailingWork(work, settings.FailRate) : work;
    }
}
