using Spectre.Console;
using Weir.Observability;
using Weir.Terminal;

namespace Weir;

/// <summary>Shows the progress of runs: bars on a terminal, plain lines where the output is a file or a pipe. See docs/reference/watching.md.</summary>
/// <remarks>
/// It is written to the error output, so that the output of the program can be piped. Several bars stand below each other. What the program writes to
/// <see cref="System.Console"/> meanwhile appears above them. The cursor is never hidden and always stands at the start of a line, so a program that is ended
/// with Ctrl-C, or killed, leaves a terminal that needs no repair. No failure to write ever fails a run.
/// </remarks>
public static class ConsoleProgress
{
    /// <summary>A bar for one run: <c>Progress = ConsoleProgress.Bar("import", total: 200_000)</c>.</summary>
    /// <param name="name">What the bar is called. Shown as it is: markup and control characters have no effect.</param>
    /// <param name="total">
    /// How many items there are; <see langword="null"/> for what the source says. If it says nothing, there is no bar, but what was done, and how fast.
    /// </param>
    /// <param name="options">How it is shown; <see langword="null"/> for the defaults.</param>
    /// <returns>The options, for one run at a time.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="name"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="total"/> is negative, or an option out of its range.</exception>
    public static ProgressOptions Bar(string name, long? total = null, ConsoleProgressOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(name);
        options ??= new();
        options.Validate();
        BarDisplay display = BarDisplay.Of(options);
        if (total is < 0)
        {
            throw new ArgumentOutOfRangeException(nameof(total), total, "The total must be 0 or more, or null for what the source says.");
        }

        object bar = new();
        return new ProgressOptions
        {
            Total = total,
            ReportInterval = display.IsLive ? options.Interval : options.LineInterval,
            OnProgress = report =>
            {
                if (report.IsFinal)
                {
                    display.End(bar, BarState.Of(name, report));
                }
                else
                {
                    display.Show(bar, [BarState.Of(name, report)]);
                }
            },
        };
    }

    /// <summary>A bar for a run whose items are read from a stream: it shows how much of the stream has been read.</summary>
    /// <param name="name">What the bar is called. Shown as it is: markup and control characters have no effect.</param>
    /// <param name="bytes">The stream that the items are read from: <see cref="Progress.OfBytes"/>.</param>
    /// <param name="options">How it is shown; <see langword="null"/> for the defaults.</param>
    /// <returns>The options, for one run at a time.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="name"/> or <paramref name="bytes"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException">An option is out of its range.</exception>
    public static ProgressOptions Bar(string name, ProgressStream bytes, ConsoleProgressOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(bytes);
        return Bar(name, (long?)null, options) with { Bytes = bytes };
    }

    /// <summary>A bar for each run of this process, until it is disposed of: those under way and those that begin. Runs need no option for it.</summary>
    /// <param name="options">How it is shown; <see langword="null"/> for the defaults.</param>
    /// <returns>What ends it. Dispose of it before the program ends, so that the bars go.</returns>
    /// <exception cref="ArgumentOutOfRangeException">An option is out of its range.</exception>
    /// <remarks>
    /// It asks <see cref="WeirDiagnostics"/> twice a second. A run that ends between two looks is not seen. Runs have the names of their
    /// <see cref="ParallelRunOptions.OperationName"/>. A run with a bar of its own is shown twice.
    /// </remarks>
    public static IDisposable ShowAll(ConsoleProgressOptions? options = null)
    {
        options ??= new();
        options.Validate();
        return new AllRuns(BarDisplay.Of(options), options);
    }

    private sealed class AllRuns : IDisposable
    {
        private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(500);

        private readonly BarDisplay _display;
        private readonly LiveWatch _watch;
        private readonly ITimer _timer;
        private readonly Lock _lock = new();
        private bool _isDisposed;

        public AllRuns(BarDisplay display, ConsoleProgressOptions options)
        {
            _display = display;
            _watch = WeirDiagnostics.Watch(new LiveWatchOptions { Interval = Look, TimeProvider = options.TimeProvider });
            TimeSpan period = display.IsLive ? Look : options.LineInterval;
            _timer = options.TimeProvider.CreateTimer(
                static all =>
                {
                    try
                    {
                        ((AllRuns)all!).Show();
                    }
                    catch (Exception)
                    {
                        // A frame that failed is left out: the next comes soon.
                    }
                },
                this,
                period,
                period);
        }

        public void Dispose()
        {
            lock (_lock)
            {
                _isDisposed = true;
            }

            _timer.Dispose();
            _watch.Dispose();
            _display.End(this, null);
        }

        private void Show()
        {
            // Two looks at once would show the older one last, and a look after the end would leave its bars.
            lock (_lock)
            {
                if (_isDisposed)
                {
                    return;
                }

                try
                {
                    WeirSnapshot snapshot = _watch.Snapshot();
                    _display.Show(this, [.. snapshot.Entries.Where(static e => e.Kind == LiveKind.Run).Select(entry => BarState.Of(entry, snapshot.Time))]);
                }
                catch (Exception)
                {
                    // A lack of memory, say, would end the process here.
                }
            }
        }
    }
}
