using Spectre.Console;
using Weir.Cli.Kit.Formatting;

namespace Weir.Cli.Kit.Progress;

/// <summary>Reports progress on the error output: a bar on a terminal, a line for each step elsewhere, nothing if quiet output was requested.</summary>
/// <remarks>It draws between rounds, and once a second to update the time: more would take processor time from the measurement.</remarks>
internal sealed class RunProgress
{
    private static readonly TimeSpan Tick = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();
    private readonly CliHost _host;
    private readonly bool _isQuiet;
    private readonly IAnsiConsole? _console;
    private readonly ProgressContext? _context;
    private readonly ProgressTask? _task;

    private RunProgress(CliHost host, bool isQuiet, IAnsiConsole? console = null, ProgressContext? context = null)
    {
        _host = host;
        _isQuiet = isQuiet;
        _console = console;
        _context = context;
        _task = context?.AddTask("starting");
    }

    /// <summary>Whether a bar is drawn.</summary>
    public bool HasBar => _task is not null;

    /// <summary>Runs something that reports progress. The bar is removed at the end.</summary>
    public static Task<T> RunAsync<T>(CliHost host, bool quiet, Func<RunProgress, Task<T>> run)
    {
        if (quiet || !host.ErrorIsTerminal)
        {
            return run(new RunProgress(host, quiet));
        }

        IAnsiConsole console = Consoles.Create(host.Error, isTerminal: true);
        return console.Progress()
            .AutoRefresh(false)
            .AutoClear(true)
            .Columns(new TaskDescriptionColumn { Alignment = Justify.Left }, new ProgressBarColumn(), new PercentageColumn(), new ElapsedTimeColumn())
            .StartAsync(async context =>
            {
                RunProgress progress = new(host, isQuiet: false, console, context);
                await using Timer timer = new(static p => ((RunProgress)p!).Refresh(), progress, Tick, Tick);
                return await run(progress);
            });
    }

    /// <summary>A step begins.</summary>
    public void Begin(string what, int done, int of)
    {
        if (_task is null)
        {
            return;
        }

        lock (_lock)
        {
            _task.MaxValue = of;
            _task.Value = done;
            _task.Description = Markup.Escape(what);
        }

        Refresh();
    }

    /// <summary>A step has ended.</summary>
    public void End(string what, int done, int of)
    {
        Begin(what, done, of);
        WriteStep($"[{done}/{of}] {what}");
    }

    /// <summary>Moves the bar.</summary>
    /// <param name="done">How many steps are done, with the part of one that is under way.</param>
    public void Move(double done)
    {
        if (_task is not null)
        {
            lock (_lock)
            {
                _task.Value = Math.Max(_task.Value, done);
            }

            Refresh();
        }
    }

    /// <summary>Writes a line where there is no bar, unless quiet output was requested.</summary>
    public void WriteStep(string line)
    {
        if (!_isQuiet && _task is null)
        {
            _host.Error.WriteLine(line);
        }
    }

    /// <summary>Says something about what comes, unless quiet output was requested.</summary>
    public void Say(string line)
    {
        if (!_isQuiet)
        {
            WriteLine($"{_host.Name}: {line}");
        }
    }

    /// <summary>Writes a message that is not progress, and is therefore also shown in quiet mode.</summary>
    public void WriteLine(string line)
    {
        if (_console is null)
        {
            _host.Error.WriteLine(line);
            return;
        }

        // Above the bar.
        lock (_lock)
        {
            _console.WriteLine(line);
        }
    }

    private void Refresh()
    {
        lock (_lock)
        {
            _context?.Refresh();
        }
    }
}
