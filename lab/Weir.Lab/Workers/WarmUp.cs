namespace Weir.Lab.Workers;

/// <summary>Unmeasured windows until the rate is steady and nothing more is being compiled, or their time is over.</summary>
internal sealed record WarmUp
{
    /// <summary>How many windows there are at least.</summary>
    public int LeastWindows { get; init; } = 1;

    /// <summary>How many operations there are at least.</summary>
    public long LeastOperations { get; init; }

    /// <summary>How long it lasts at least.</summary>
    public TimeSpan Shortest { get; init; }

    /// <summary>How long it lasts at most, unless code is being compiled.</summary>
    public required TimeSpan Longest { get; init; }

    /// <summary>How much longer it lasts at most while code is being compiled.</summary>
    public TimeSpan CompilerPatience { get; init; }

    /// <summary>In how many windows in a row nothing was compiled.</summary>
    public int QuietWindows { get; init; }

    /// <summary>How much slower than the window before a steady one may be, as a share of its rate.</summary>
    public double MostSlower { get; init; } = 0.05;

    /// <summary>How much faster.</summary>
    public double MostFaster { get; init; } = 0.05;

    /// <summary>Whether the compiler is left alone for a while after a window in which it was at work.</summary>
    public bool RestsForCompiler { get; init; }

    public TimeProvider Clock { get; init; } = TimeProvider.System;

    /// <summary>Runs it.</summary>
    /// <param name="window">Runs a window; <see langword="null"/> for one that was given up, after which there is another.</param>
    /// <param name="isOver">Whether it ends whatever the windows say.</param>
    /// <param name="cancellationToken">Ends it after the window that is being measured.</param>
    /// <returns>Whether the rate was steady.</returns>
    public async Task<bool> RunAsync(Func<Task<WindowOutcome?>> window, Func<bool> isOver, CancellationToken cancellationToken)
    {
        long start = Clock.GetTimestamp();
        double lastRate = 0;
        long operations = 0;
        int quiet = 0;
        int done = 0;
        while (!isOver() && !cancellationToken.IsCancellationRequested)
        {
            if (await window().ConfigureAwait(false) is not { } outcome)
            {
                // What was waited for in vain warms nothing up.
                start = Clock.GetTimestamp();
                continue;
            }

            done++;
            operations += outcome.Operations;
            quiet = outcome.Resources.CompiledMethods == 0 ? quiet + 1 : 0;
            double rate = outcome.Rate;
            TimeSpan elapsed = Clock.GetElapsedTime(start);
            bool isEnough = done >= LeastWindows && operations >= LeastOperations && elapsed >= Shortest;
            if (isEnough && quiet >= QuietWindows && rate >= lastRate * (1 - MostSlower) && rate <= lastRate * (1 + MostFaster))
            {
                return true;
            }

            if ((quiet >= QuietWindows && elapsed >= Longest) || elapsed >= Longest + CompilerPatience)
            {
                return false;
            }

            if (quiet == 0 && RestsForCompiler)
            {
                await CompilerRest.WaitAsync(CompilerRest.Longest, cancellationToken).ConfigureAwait(false);
            }

            lastRate = rate;
        }

        return false;
    }
}
