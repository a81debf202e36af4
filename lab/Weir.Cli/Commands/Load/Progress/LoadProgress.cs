using Weir.Cli.Hosting;
using Weir.Lab.Trials;

namespace Weir.Cli.Commands.Load.Progress;

/// <summary>Reports the progress of a run, on the error output: nothing of it gets into the results.</summary>
internal static class LoadProgress
{
    /// <summary>Runs something that is observed: with a bar on a terminal, with plain lines elsewhere, and with nothing when asked to be quiet.</summary>
    public static Task<TrialReport> RunAsync(CliHost host, bool quiet, Func<ITrialObserver, Task<TrialReport>> run)
    {
        if (quiet)
        {
            return RunWithLinesAsync(host with { Error = TextWriter.Null }, run);
        }

        if (host.ErrorIsTerminal)
        {
            return ProgressBar.RunAsync(host.Error, run);
        }

        return RunWithLinesAsync(host, run);
    }

    private static async Task<TrialReport> RunWithLinesAsync(CliHost host, Func<ITrialObserver, Task<TrialReport>> run)
    {
        using ProgressLines lines = new(host.Error, host.Load.Heartbeat);
        return await run(lines).ConfigureAwait(false);
    }
}
