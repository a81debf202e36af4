using System.Collections.Concurrent;
using System.Runtime.InteropServices;

namespace Weir.Lab.Suites;

/// <summary>
/// Methods that wait for some milliseconds, each for something else: for the check that a profile names what is waited for. Two workers call each at once.
/// </summary>
public static partial class PlantedWaits
{
    private static readonly object OldLock = new();
    private static readonly Lock NewLock = new();
    private static readonly SemaphoreSlim Semaphore = new(1);
    private static readonly SemaphoreSlim OneAtATime = new(1);
    private static readonly ReaderWriterLockSlim ReaderWriter = new();
    private static readonly BlockingCollection<int> Items = [];
    private static readonly ManualResetEventSlim Never = new();
    private static readonly ManualResetEvent NeverEither = new(false);

    /// <summary>Those that block their thread, and what a profile calls what each waits for.</summary>
    public static IReadOnlyList<(string Method, string For)> Named { get; } =
    [
        (nameof(Locks), "a lock"), (nameof(LocksAnew), "a lock"), (nameof(TakesTheSemaphore), "a semaphore"), (nameof(Writes), "a reader-writer lock"),
        (nameof(BlocksOnATask), "a task: blocks its thread"), (nameof(TakesFromAnEmptyCollection), "a blocking collection"),
        (nameof(WaitsForAnEvent), "an event or a pulse"), (nameof(WaitsForAHandle), "a wait handle"), (nameof(Sleeps), "a sleep"),
        (nameof(SleepsInTheSystem), "a native call"),
    ];

    /// <summary>Waits for a lock.</summary>
    /// <returns>What the system returned.</returns>
    public static int Locks()
    {
        lock (OldLock)
        {
            return Nap();
        }
    }

    /// <summary>Waits for a lock of the newer kind.</summary>
    /// <returns>What the system returned.</returns>
    public static int LocksAnew()
    {
        lock (NewLock)
        {
            return Nap();
        }
    }

    /// <summary>Waits for a semaphore.</summary>
    /// <returns>What the system returned.</returns>
    public static int TakesTheSemaphore()
    {
        Semaphore.Wait();
        int done = Nap();
        Semaphore.Release();
        return done;
    }

    /// <summary>Waits to write.</summary>
    /// <returns>What the system returned.</returns>
    public static int Writes()
    {
        ReaderWriter.EnterWriteLock();
        int done = Nap();
        ReaderWriter.ExitWriteLock();
        return done;
    }

    /// <summary>Waits for an asynchronous method.</summary>
    /// <returns>One.</returns>
    public static int BlocksOnATask() => LaterAsync().GetAwaiter().GetResult();

    /// <summary>Waits for an item that nobody adds.</summary>
    /// <returns>False.</returns>
    public static bool TakesFromAnEmptyCollection() => Items.TryTake(out _, 5);

    /// <summary>Waits for an event that never comes.</summary>
    /// <returns>False.</returns>
    public static bool WaitsForAnEvent() => Never.Wait(5);

    /// <summary>Waits for one of the system's that never comes.</summary>
    /// <returns>False.</returns>
    public static bool WaitsForAHandle() => NeverEither.WaitOne(5);

    /// <summary>Sleeps.</summary>
    public static void Sleeps() => Thread.Sleep(5);

    /// <summary>Sleeps in a native call.</summary>
    /// <returns>What the system returned.</returns>
    public static int SleepsInTheSystem() => USleep(5_000);

    /// <summary>Sleeps longer than anybody waits for it.</summary>
    public static void SleepsForMinutes() => Thread.Sleep(120_000);

    /// <summary>Sleeps longer than anybody waits for it, as a second method.</summary>
    public static void SleepsForMinutesToo() => Thread.Sleep(120_000);

    /// <summary>Blocks threads of the pool.</summary>
    /// <returns>One.</returns>
    public static Task<int> StarvesThePool() => Task.Run(BlocksOnATask);

    /// <summary>Awaits a method that awaits another one.</summary>
    /// <returns>Three.</returns>
    public static async Task<int> AwaitsAChain() => 1 + await AwaitsTheLastAsync();

    /// <summary>Awaits a semaphore, which another one has.</summary>
    /// <returns>A task.</returns>
    public static async Task AwaitsTheHolder()
    {
        await OneAtATime.WaitAsync();
        await Task.Delay(3);
        OneAtATime.Release();
    }

    private static async Task<int> AwaitsTheLastAsync() => 1 + await LaterAsync();

    // So that the other worker waits, and this one is told apart by its own method.
    private static int Nap() => USleep(3_000);

    private static async Task<int> LaterAsync()
    {
        await Task.Delay(20);
        return 1;
    }

    [LibraryImport("libc", EntryPoint = "usleep")]
    private static partial int USleep(uint microseconds);
}
