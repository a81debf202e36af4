using System.Diagnostics.Metrics;
using System.Reflection;
using System.Runtime.CompilerServices;
using Weir.Core.Live;

namespace Weir.Core.Metering;

/// <summary>Whether anybody can be listening to spans and instruments. The library does not create them before that.</summary>
/// <remarks>
/// Creating the first activity source of a process costs about ten milliseconds, and the first meter some, most of them for the platform's own event sources.
/// That is too much for the first run of a program that has just started. A listener inside the process has loaded the assembly of activities and meters, so
/// a run need not ask until that assembly is loaded. A listener outside the process finds what exists; for it, everything is created some time after the
/// first run, on the thread pool, also the source of snapshots.
/// </remarks>
/// <param name="assembly">The simple name of the assembly that listeners need.</param>
/// <param name="prepare">Creates what can be listened to.</param>
/// <param name="time">The clock. Its timers may be the watch's, which run no user code.</param>
internal sealed class ListenerDetector(string assembly, Action prepare, TimeProvider time) : IUnattended
{
    /// <summary>How long after the first run the sources are created at the latest.</summary>
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(2);

    private const int Unknown = 0;
    private const int Impossible = 1;
    private const int Possible = 2;

    private readonly Lock _lock = new();
    private readonly string _prefix = assembly + ",";
    private ITimer? _timer;
    private int _state;

    /// <summary>Whether a run must ask the sources for listeners. False only until there may be one.</summary>
    public bool IsPossible => Volatile.Read(ref _state) switch
    {
        Possible => true,
        Impossible => false,
        _ => Detect(),
    };

    /// <summary>Whether anybody can be listening, as far as earlier runs have found out.</summary>
    public bool WasPossible
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Volatile.Read(ref _state) == Possible;
    }

    /// <summary>The sources could not be created: the next run tries again.</summary>
    void IUnattended.WorkFailed(Exception error) => Open();

    private bool Detect()
    {
        lock (_lock)
        {
            if (_state == Unknown)
            {
                // In this order, so that no assembly is missed in between.
                AppDomain.CurrentDomain.AssemblyLoad += OnLoad;
                if (Array.Exists(AppDomain.CurrentDomain.GetAssemblies(), IsListenerAssembly))
                {
                    Open();
                }

                Interlocked.CompareExchange(ref _state, Impossible, Unknown);

                // Kept here, because nobody else has it.
                _timer = time.CreateTimer(
                    static detector => Unattended.Run((ListenerDetector)detector!, static detector => detector.QueuePrepare()),
                    this,
                    Patience,
                    Timeout.InfiniteTimeSpan);
            }
        }

        return Volatile.Read(ref _state) == Possible;
    }

    private bool IsListenerAssembly(Assembly loaded) => loaded.FullName?.StartsWith(_prefix, StringComparison.Ordinal) == true;

    private void OnLoad(object? sender, AssemblyLoadEventArgs loaded)
    {
        if (IsListenerAssembly(loaded.LoadedAssembly))
        {
            // The timer stays: perhaps no run starts any more that would create what those under way are seen with.
            Open();
        }
    }

    // It may run listeners' code.
    private void QueuePrepare() => ThreadPool.UnsafeQueueUserWorkItem(
        static detector => Unattended.Run(detector, static detector => detector.Prepare()), this, preferLocal: false);

    private void Prepare()
    {
        prepare();
        LiveEvents.Create();
        Open();
    }

    private void Open()
    {
        Volatile.Write(ref _state, Possible);
        AppDomain.CurrentDomain.AssemblyLoad -= OnLoad;
    }
}

/// <summary>
/// Makes calls that may run observers' code: listeners to spans and instruments, and handlers for changes of the current span. Their exceptions are discarded,
/// because observing a run must not change its result.
/// </summary>
internal static class SafeCall
{
    public static void Invoke<TState>(Action<TState> call, TState state)
    {
        try
        {
            call(state);
        }
        catch (Exception)
        {
            // See above.
        }
    }

    /// <summary>What a call returns, such as an instrument, which each listener is told of; null if it threw.</summary>
    public static TResult? Try<TResult>(Func<TResult?> call)
        where TResult : class =>
        Invoke(static call => call(), call);

    public static TResult? Invoke<TState, TResult>(Func<TState, TResult?> call, TState state)
        where TResult : class
    {
        try
        {
            return call(state);
        }
        catch (Exception)
        {
            // See above.
            return null;
        }
    }
}

/// <summary>Histograms of durations, in seconds, with the advice that all of the library's have.</summary>
internal static class Durations
{
#if NET9_0_OR_GREATER
    // From a microsecond to five minutes, three a decade: the platform's own buckets begin at 5 ms.
    private static readonly InstrumentAdvice<double> Buckets = new()
    {
        HistogramBucketBoundaries =
        [
            1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300,
        ],
    };
#endif

    public static Histogram<double> Create(Meter meter, string name, string description) =>
#if NET9_0_OR_GREATER
        meter.CreateHistogram(name, "s", description, advice: Buckets);
#else
        meter.CreateHistogram<double>(name, "s", description);
#endif
}

/// <summary>The names that all parts of the library use for listeners.</summary>
internal static class DiagnosticNames
{
    /// <summary>The name of the meter and of the activity source.</summary>
    public const string Library = "Weir";

    /// <summary>The assembly without which nobody in the process can listen.</summary>
    public const string ListenersAssembly = "System.Diagnostics.DiagnosticSource";

    public const string Outcome = "weir.outcome";

    public const string ErrorType = "error.type";
}
