using System.Runtime.CompilerServices;
using BenchmarkDotNet.Characteristics;
using BenchmarkDotNet.Environments;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Running;
using Weir.Lab.Benchmarks.Settings;

namespace Weir.Lab.Benchmarks.Net10;

/// <summary>
/// Gives jobs that would run on this runtime a runtime and a toolchain that work on it. Jobs in process, and those for other runtimes, stay as they are.
/// </summary>
internal sealed class Net10Jobs
{
    // For no longer than BenchmarkDotNet keeps the job.
    private readonly ConditionalWeakTable<Job, Job> _changed = [];

    public BenchmarkCase UseNet10(BenchmarkCase benchmark)
    {
        if (!NeedsNet10(benchmark.Job))
        {
            return benchmark;
        }

        // The same job for all its cases, so that they are built together.
        Job job = _changed.GetValue(benchmark.Job, static job =>
        {
            Job changed = job.UnfreezeCopy();
            changed.Environment.Runtime = Net10Runtime.Instance;
            changed.Infrastructure.Toolchain = Net10Toolchain.Instance;
            return changed.Freeze();
        });
        return BenchmarkCase.Create(benchmark.Descriptor, job, benchmark.Parameters, benchmark.Config);
    }

    private static bool NeedsNet10(Job job)
    {
        Runtime? runtime = job.Environment.HasValue(EnvironmentMode.RuntimeCharacteristic) ? job.Environment.Runtime : null;
        if (runtime is not null && runtime.MsBuildMoniker == RunSettings.Current.StandIn)
        {
            return true;
        }

        return Environment.Version.Major == 10
            && !job.Infrastructure.HasValue(InfrastructureMode.ToolchainCharacteristic)
            && (runtime is null || runtime.RuntimeMoniker == RuntimeMoniker.NotRecognized);
    }
}
