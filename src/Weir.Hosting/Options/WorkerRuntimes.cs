using Weir.Runtimes;

namespace Weir.Hosting;

/// <summary>Makes the runtime of a worker from its options.</summary>
internal static class WorkerRuntimes
{
    private const int UsualConcurrency = 16;

    public static IExecutionRuntime Make(WeirWorkerOptions options, TimeProvider clock)
    {
        RuntimeOptions all = OptionsOf(options, clock);
        int? most = options.MaxConcurrency;
        return options.Runtime switch
        {
            WorkerRuntime.Parallel => new ParallelRuntime(most, all),
            WorkerRuntime.Auto => new AutoRuntime(most ?? 200, options: all),
            WorkerRuntime.Direct => new DirectRuntime(all),
            _ => new ConcurrentRuntime(most ?? UsualConcurrency, all),
        };
    }

    public static RuntimeOptions OptionsOf(WeirWorkerOptions options, TimeProvider clock) => new()
    {
        // An item that still runs when the host has ended ignores its token.
        GracePeriod = TimeSpan.Zero,
        TimeProvider = clock,
        Policies = options.Policies,
        TotalConcurrency = options.Policies?.ConcurrencyLimit is not null ? null : options.Runtime switch
        {
            // The limit of the parallel runtime is its threads, and the direct one runs a single item.
            WorkerRuntime.Parallel or WorkerRuntime.Direct => null,
            WorkerRuntime.Auto => options.MaxConcurrency,
            _ => options.MaxConcurrency ?? UsualConcurrency,
        },
    };
}
