using System.Collections.Concurrent;
using System.Runtime.InteropServices;

#pragma warning disable RS0030 // Here the waiting is what is looked for.

namespace Weir.Cli.Tests.Profiling;

/// <summary>Methods that wait for some milliseconds, each for something else. Two workers call each at once.</summary>
public static partial class PlantedWaits
{
    private static readonly object Gate = new();
    private static readonly Lock NewGate = new();
    private static readonly SemaphoreSlim Semaphore = new(1);
    private static readonly SemaphoreSlim Turn = new(1);
    private static readonly ReaderWriterLockSlim ReaderWriter = new();
    private static readonly BlockingCollection<int> Items = [];
    private static readonly ManualResetEventSlim Never = new();
    private static readonly ManualResetEvent NeverEither = new(false);

    public static int Locks()
    {
        lock (Gate)
        {
            return Nap();
        }
    }

    public static int LocksAnew()
    {
        lock (NewGate)
        {
            return Nap();
        }
    }

    public static int TakesTheSemaphore()
    {
        Semaphore.Wait();
        int done = Nap();
        Semaphore.Release();
        return done;
    }

    public static int Writes()
    {
        ReaderWriter.EnterWriteLock();
        int done = Nap();
        ReaderWriter.ExitWriteLock();
        return done;
    }

    public static int BlocksOnATask() => LaterAsync().GetAwaiter().GetResult();

    public static bool TakesFromAnEmptyCollection() => Items.TryTake(out _, 5);

    public static bool WaitsForAnEvent() => Never.Wait(5);

    public static bool WaitsForAHandle() => NeverEither.WaitOne(5);

    public static void Sleeps() => Thread.Sleep(5);

    public static int SleepsInTheSystem() => USleep(5_000);

    public static void SleepsForMinutes() => Thread.Sleep(120_000);

    public static void SleepsForMinutesToo() => Thread.Sleep(120_000);

    public static Task<int> StarvesThePool() => Task.Run(BlocksOnATask);

    public static async Task<int> AwaitsAChain() => 1 + await AwaitsTheLastAsync();

    public static async Task AwaitsTheHolder()
    {
        await Turn.WaitAsync();
        await Task.Delay(3);
        Turn.Release();
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
