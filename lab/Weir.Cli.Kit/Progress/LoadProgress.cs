using Weir.Cli.Kit.Hosting;
using Weir.Lab.Trials;

namespace Weir.Cli.Kit.Progress;

/// <summary>Reports progress on the error output. It does not affect the results.</summary>
internal static class LoadProgress
{
    /// <summary>Runs something and shows its progress: a bar on a terminal, plain lines elsewhere, and nothing if quiet output was requested.</summary>
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
