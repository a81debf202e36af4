using System.Reflection;
using System.Runtime.CompilerServices;

namespace Weir.Resilience;

/// <summary>
/// Whether anybody can be listening. Nothing is created before: the first meter of a process costs some milliseconds. A listener inside the process has loaded
/// the assembly of meters; for one outside of it, the meter is created two seconds after the first policy. The engine has its own, because neither project may
/// use the other.
/// </summary>
internal static class PolicyListeners
{
    private const string Assembly = "System.Diagnostics.DiagnosticSource,";
    private const int Unknown = 0;
    private const int Impossible = 1;
    private const int Possible = 2;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(2);
    private static readonly Lock Lock = new();
    private static ITimer? _timer;
    private static int _state;

    /// <summary>Whether somebody counts calls.</summary>
    public static bool WantsCalls
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Volatile.Read(ref _state) == Possible && AskForCalls();
    }

    /// <summary>A policy was created: creates the meter if somebody may listen. That runs listeners' code: not under a lock.</summary>
    public static void Look()
    {
        if (Volatile.Read(ref _state) == Unknown)
        {
            Detect();
        }

        if (Volatile.Read(ref _state) == Possible)
        {
            AskForCalls();
        }
    }

    // Separate, because compiling it loads the assembly that listeners need, and then there may be some.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool AskForCalls() => PolicyMeter.CountsCalls;

    private static void Detect()
    {
        using (Lock.EnterSafely())
        {
            if (_state != Unknown)
            {
                return;
            }

            // In this order, so that no assembly is missed in between.
            AppDomain.CurrentDomain.AssemblyLoad += OnLoad;
            if (Array.Exists(AppDomain.CurrentDomain.GetAssemblies(), IsListeners))
            {
                Open();
            }
            else if (Interlocked.CompareExchange(ref _state, Impossible, Unknown) == Unknown)
            {
                _timer = TimeProvider.System.CreateTimer(
                    static _ => SafeCallback.Run(Patience, static _ => Prepare()), null, Patience, Timeout.InfiniteTimeSpan);
            }
        }
    }

    private static void Prepare()
    {
        try
        {
            AskForCalls();
        }
        finally
        {
            // If it failed, the next policy tries again.
            Open();
            _timer?.Dispose();
        }
    }

    private static bool IsListeners(Assembly loaded) => loaded.FullName?.StartsWith(Assembly, StringComparison.Ordinal) == true;

    private static void OnLoad(object? sender, AssemblyLoadEventArgs loaded)
    {
        if (IsListeners(loaded.LoadedAssembly))
        {
            Open();
        }
    }

    private static void Open()
    {
        Volatile.Write(ref _state, Possible);
        AppDomain.CurrentDomain.AssemblyLoad -= OnLoad;
    }
}
