using System.Runtime;

namespace Weir.Lab.Trials;

/// <summary>Runs an arm's warm-up passes until its rate is steady and nothing more is being compiled, or the time for it is over.</summary>
internal static class WarmUp
{
    // Steady is: two slices in a row within 5 % of each other, after at least four. Code is compiled for good after 30 calls and a
    // pause of 100 ms, so fewer slices of a twentieth of a second say little.
    private const int Slices = 20;
    private const int LeastSlices = 4;
    private const double SteadyWithin = 0.05;

    public static async Task RunAsync(Arm arm, TrialOptions options, CancellationToken cancellationToken)
    {
        if (arm.WarmUp is null)
        {
            return;
        }

        try
        {
            await Task.Run(() => RunSlicesAsync(arm, options, cancellationToken), CancellationToken.None).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            // The caller looks at the token and reports what there is: nothing.
        }
    }

    private static async Task RunSlicesAsync(Arm arm, TrialOptions options, CancellationToken cancellationToken)
    {
        TimeProvider time = options.TimeProvider;
        TimeSpan slice = options.LongestWarmUp / Slices;
        long start = time.GetTimestamp();
        double lastRate = 0;
        for (int done = 1; ; done++)
        {
            long compiled = JitInfo.GetCompiledMethodCount();
            double rate = await RunSliceAsync(arm, slice, time, cancellationToken).ConfigureAwait(false);
            bool steady = done >= LeastSlices && Math.Abs(rate - lastRate) <= lastRate * SteadyWithin
                && JitInfo.GetCompiledMethodCount() == compiled;
            if (steady || time.GetElapsedTime(start) >= options.LongestWarmUp)
            {
                break;
            }

            lastRate = rate;
        }
    }

    private static async Task<double> RunSliceAsync(Arm arm, TimeSpan slice, TimeProvider time, CancellationToken cancellationToken)
    {
        long start = time.GetTimestamp();
        TimeSpan elapsed;
        long passes = 0;
        do
        {
            cancellationToken.ThrowIfCancellationRequested();
            await arm.WarmUp!(cancellationToken).ConfigureAwait(false);
            passes++;
            elapsed = time.GetElapsedTime(start);
        }
        while (elapsed < slice);
        return passes / Math.Max(elapsed.TotalSeconds, 1e-9);
    }
}
