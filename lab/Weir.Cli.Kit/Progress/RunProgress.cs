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

/// <summary>How much longer a number of steps takes about, if those to come take as long as those so far. It counts from its creation.</summary>
internal sealed class RemainingTime(TimeProvider clock, int steps)
{
    private const int FewSeconds = 100;

    private readonly long _start = clock.GetTimestamp();

    /// <summary>The time that is left after some steps, as the end of a line; nothing when there is none left.</summary>
    public string After(int done)
    {
        if (done < 1 || done >= steps)
        {
            return "";
        }

        TimeSpan left = clock.GetElapsedTime(_start) / done * (steps - done);
        return $", about {TextOf(left)} left";
    }

    // It is no more exact than that.
    private static string TextOf(TimeSpan time) => time.TotalSeconds <= FewSeconds
        ? $"{Numbers.Grouped(Math.Ceiling(time.TotalSeconds))} s"
        : time.TotalMinutes <= FewSeconds ? $"{Numbers.Grouped(Math.Round(time.TotalMinutes))} min" : FormattableString.Invariant($"{time.TotalHours:0.0} h");
}

/// <summary>Reports the progress of trials: a bar on a terminal; elsewhere one line for each round, and one from time to time during a long window.</summary>
internal sealed class TrialProgress : ITrialObserver, IDisposable
{
    private static readonly TimeSpan BarPatience = TimeSpan.FromSeconds(2);

    private readonly Lock _lock = new();
    private readonly RunProgress _progress;
    private readonly TimeSpan _period;
    private readonly Timer _timer;
    private readonly List<string> _round = [];
    private TrialStep _step;
    private long _doneBefore;

    private TrialProgress(RunProgress progress, TimeSpan heartbeat)
    {
        _progress = progress;
        _period = progress.HasBar ? BarPatience : heartbeat;
        _timer = new Timer(static trials => ((TrialProgress)trials!).Within(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    private string Where => _step.Round == 0 ? "warming up" : $"round {_step.Round} of {_step.Rounds}";

    /// <summary>Runs trials, and shows their progress unless quiet output was requested.</summary>
    public static Task<TrialReport> RunAsync(CliHost host, bool quiet, Func<ITrialObserver, Task<TrialReport>> run) =>
        RunProgress.RunAsync(host, quiet, async progress =>
        {
            using TrialProgress trials = new(progress, host.Load.Heartbeat);
            return await run(trials);
        });

    public void Started(TrialStep trialStep)
    {
        lock (_lock)
        {
            _step = trialStep;
            _doneBefore = trialStep.Arm.ItemsDone();
            _progress.Begin($"{Where}{(trialStep.Round == 0 ? "" : ":")} {trialStep.Arm.Name}", trialStep.Index, trialStep.Count);
            if (trialStep.Index == 0)
            {
                _progress.WriteStep(Where);
            }
        }

        _timer.Change(_period, _period);
    }

    public void Ended(TrialStep trialStep, RoundRecord? round)
    {
        _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        lock (_lock)
        {
            _progress.Move(trialStep.Index + 1);
            if (round is null)
            {
                return;
            }

            _round.Add($"{trialStep.Arm.Name} {Numbers.Scaled(round.Rate)}/s");
            if (_round.Count == trialStep.Count / (trialStep.Rounds + 1) || round.Partial)
            {
                _progress.WriteStep($"{Where}: {string.Join(", ", _round)}{(round.Partial ? " (stopped)" : "")}");
                _round.Clear();
            }
        }
    }

    public void Dispose() => _timer.Dispose();

    private void Within()
    {
        lock (_lock)
        {
            long done = _step.Arm.ItemsDone() - _doneBefore;
            _progress.Move(_step.Index + Math.Clamp((double)done / _step.Arm.Expected.Count, 0, 0.99));
            _progress.WriteStep($"{Where}: {_step.Arm.Name} has done {Numbers.Grouped(done)} items");
        }
    }
}
