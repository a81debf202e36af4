using Spectre.Console;
using Weir.Cli.Kit.Formatting;
using Weir.Lab.Trials;

namespace Weir.Cli.Kit.Progress;

/// <summary>A progress bar. It is drawn between windows, and within a window only if that takes long, because drawing uses processor time.</summary>
internal sealed class ProgressBar : ITrialObserver, IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan Period = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();
    private readonly ProgressContext _context;
    private readonly ProgressTask _task;
    private readonly Timer _timer;
    private TrialStep _step;
    private long _doneBefore;

    private ProgressBar(ProgressContext context)
    {
        _context = context;
        _task = context.AddTask("warming up");
        _timer = new Timer(static bar => ((ProgressBar)bar!).Within(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>Runs something with a bar, and removes the bar at the end.</summary>
    public static Task<TrialReport> RunAsync(TextWriter output, Func<ITrialObserver, Task<TrialReport>> run) =>
        Consoles.Create(output, isTerminal: true).Progress()
            .AutoRefresh(false)
            .AutoClear(true)
            .Columns(new TaskDescriptionColumn { Alignment = Justify.Left }, new ProgressBarColumn(), new PercentageColumn(), new ElapsedTimeColumn())
            .StartAsync(async context =>
            {
                using ProgressBar bar = new(context);
                return await run(bar).ConfigureAwait(false);
            });

    public void Started(TrialStep trialStep)
    {
        lock (_lock)
        {
            _step = trialStep;
            _doneBefore = trialStep.Arm.ItemsDone();
            _task.MaxValue = trialStep.Count;
            _task.Value = trialStep.Index;
            string where = trialStep.Round == 0 ? "warming up" : $"round {trialStep.Round} of {trialStep.Rounds}:";
            _task.Description = Markup.Escape($"{where} {trialStep.Arm.Name}");
            _context.Refresh();
        }

        _timer.Change(Patience, Period);
    }

    public void Ended(TrialStep trialStep, Window? window)
    {
        _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        lock (_lock)
        {
            _task.Value = trialStep.Index + 1;
            _context.Refresh();
        }
    }

    public void Dispose() => _timer.Dispose();

    private void Within()
    {
        lock (_lock)
        {
            double share = (double)(_step.Arm.ItemsDone() - _doneBefore) / _step.Arm.Expected.Count;
            _task.Value = Math.Max(_task.Value, _step.Index + Math.Clamp(share, 0, 0.99));
            _context.Refresh();
        }
    }
}
