namespace Weir.Lab.Work;

/// <summary>
/// Waits of one fixed length that hold no thread, as calls to another machine do. A dedicated thread ends them, because the platform's
/// timers count in ticks of some milliseconds: a delay of 1 ms may take more than four, or less than one.
/// </summary>
/// <remarks>
/// A wait never ends early. Its continuation runs on the thread pool, as that of real input and output does. Any number of waits may be
/// under way at once; they end in the order in which they began, since all are equally long.
/// </remarks>
internal sealed class WaitThread : IDisposable
{
    // More than what the platform's own waits are late.
    private static readonly TimeSpan Coarse = TimeSpan.FromMilliseconds(20);

    private readonly object _lock = new();
    private readonly Queue<Wait> _waits = new();
    private readonly long _length;
    private bool _stopped;

    /// <summary>Creates waits and starts their thread.</summary>
    /// <param name="length">How long each wait lasts. More than zero.</param>
    public WaitThread(TimeSpan length)
    {
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(length, TimeSpan.Zero);
        Length = length;
        _length = (long)(length.TotalSeconds * Stopwatch.Frequency);
        Thread thread = new(EndWaits) { IsBackground = true, Name = "Weir lab waits", Priority = ThreadPriority.AboveNormal };
        thread.Start();
    }

    /// <summary>How long each wait lasts at least.</summary>
    public TimeSpan Length { get; }

    /// <summary>Waits.</summary>
    /// <returns>A task that ends when the time is over.</returns>
    /// <exception cref="ObjectDisposedException">The thread has been stopped.</exception>
    public Task WaitAsync(CancellationToken cancellationToken = default)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled(cancellationToken);
        }

        Wait wait = new();
        wait.CancelWith(cancellationToken);
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_stopped, this);
            wait.Due = Stopwatch.GetTimestamp() + _length;
            _waits.Enqueue(wait);
            if (_waits.Count == 1)
            {
                Monitor.Pulse(_lock);
            }
        }

        return wait.Task;
    }

    /// <summary>Measures how long a wait really takes here.</summary>
    /// <param name="waits">How many waits, one after the other. At least 1.</param>
    /// <param name="cancellationToken">Cancels the waits.</param>
    public async Task<TimeSpan> MeasureAsync(int waits, CancellationToken cancellationToken = default)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(waits, 1);
        TimeSpan[] lengths = new TimeSpan[waits];
        for (int i = 0; i < waits; i++)
        {
            long start = Stopwatch.GetTimestamp();
            await WaitAsync(cancellationToken).ConfigureAwait(false);
            lengths[i] = Stopwatch.GetElapsedTime(start);
        }

        Array.Sort(lengths);
        return lengths[waits / 2];
    }

    /// <summary>Cancels the waits that are under way, and stops the thread.</summary>
    public void Dispose()
    {
        Wait[] left;
        lock (_lock)
        {
            _stopped = true;
            left = [.. _waits];
            _waits.Clear();
            Monitor.Pulse(_lock);
        }

        foreach (Wait wait in left)
        {
            wait.End(cancelled: true);
        }
    }

    private void EndWaits()
    {
        List<Wait> due = [];
        while (true)
        {
            TimeSpan left;
            lock (_lock)
            {
                while (_waits.Count == 0)
                {
                    if (_stopped)
                    {
                        return;
                    }

                    Monitor.Wait(_lock);
                }

                long now = Stopwatch.GetTimestamp();
                while (_waits.TryPeek(out Wait? wait) && wait.Due <= now)
                {
                    due.Add(_waits.Dequeue());
                }

                left = _waits.TryPeek(out Wait? next) ? Stopwatch.GetElapsedTime(now, next.Due) : TimeSpan.Zero;
                if (due.Count == 0 && left > Coarse * 2)
                {
                    // Most of a long wait can be interrupted, so that the thread ends soon after it was stopped.
                    Monitor.Wait(_lock, left - Coarse);
                    continue;
                }
            }

            foreach (Wait wait in due)
            {
                wait.End(cancelled: false);
            }

            due.Clear();
            PreciseSleep.For(left);
        }
    }

    private sealed class Wait() : TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        private CancellationTokenRegistration _registration;

        public long Due { get; set; }

        public void CancelWith(CancellationToken cancellationToken) =>
            _registration = cancellationToken.UnsafeRegister(
                static (wait, token) => ((Wait)wait!).TrySetCanceled(token), this);

        public void End(bool cancelled)
        {
            _ = cancelled ? TrySetCanceled() : TrySetResult();

            // Without waiting for a callback that may be running: it would find the wait ended.
            _registration.Unregister();
        }
    }
}

/// <summary>Blocks the thread for less than a timer tick. The system's own call is used, because the platform's sleep counts whole milliseconds.</summary>
internal static partial class PreciseSleep
{
    private const long NanosecondsPerSecond = 1_000_000_000;

    public static bool IsPrecise { get; } = OperatingSystem.IsLinux() || OperatingSystem.IsMacOS();

    public static void For(TimeSpan time)
    {
        if (time <= TimeSpan.Zero)
        {
            return;
        }

        if (!IsPrecise)
        {
            Thread.Sleep(TimeSpan.FromMilliseconds(Math.Ceiling(time.TotalMilliseconds)));
            return;
        }

        long nanoseconds = time.Ticks * TimeSpan.NanosecondsPerTick;
        TimeSpec request = new() { Seconds = (nint)(nanoseconds / NanosecondsPerSecond), Nanoseconds = (nint)(nanoseconds % NanosecondsPerSecond) };

        // A signal may end it early; the caller looks at the clock.
        _ = NanoSleep(in request, 0);
    }

    [LibraryImport("libc", EntryPoint = "nanosleep")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.System32)]
    private static partial int NanoSleep(in TimeSpec request, nint remaining);

    [StructLayout(LayoutKind.Sequential)]
    private struct TimeSpec
    {
        public nint Seconds;
        public nint Nanoseconds;
    }
}
