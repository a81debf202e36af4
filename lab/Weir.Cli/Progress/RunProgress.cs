using Spectre.Console;
using Weir.Cli.Hosting;
using Weir.Cli.Output;

namespace Weir.Cli.Progress;

/// <summary>Tells how a run goes on, on the error output: a bar on a terminal, a line for each step elsewhere, nothing when asked to be quiet.</summary>
/// <remarks>It draws between rounds only, because drawing takes processor time.</remarks>
internal sealed class RunProgress
{
    private readonly TextWriter? _lines;
    private readonly ProgressContext? _context;
    private readonly ProgressTask? _task;

    private RunProgress(TextWriter? lines, ProgressContext? context)
    {
        _lines = lines;
        _context = context;
        _task = context?.AddTask("starting");
    }

    /// <summary>Runs something that tells how it goes on. The bar is gone at the end.</summary>
    public static Task<T> RunAsync<T>(CliHost host, bool quiet, Func<RunProgress, Task<T>> run)
    {
        if (quiet || !host.ErrorIsTerminal)
        {
            return run(new RunProgress(quiet ? null : host.Error, context: null));
        }

        return Consoles.Create(host.Error, isTerminal: true).Progress()
            .AutoRefresh(false)
            .AutoClear(true)
            .Columns(new TaskDescriptionColumn { Alignment = Justify.Left }, new ProgressBarColumn(), new PercentageColumn(), new ElapsedTimeColumn())
            .StartAsync(context => run(new RunProgress(lines: null, context)));
    }

    /// <summary>A step begins.</summary>
    /// <param name="what">Which.</param>
    /// <param name="done">How many are done.</param>
    /// <param name="of">How many there are.</param>
    public void Begin(string what, int done, int of)
    {
        if (_task is null)
        {
            return;
        }

        _task.MaxValue = of;
        _task.Value = done;
        _task.Description = Markup.Escape(what);
        _context!.Refresh();
    }

    /// <summary>A step has ended.</summary>
    public void End(string what, int done, int of)
    {
        Begin(what, done, of);
        _lines?.WriteLine($"[{done}/{of}] {what}");
    }
}
