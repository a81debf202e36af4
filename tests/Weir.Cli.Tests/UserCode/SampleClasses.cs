using Weir.Lab.Workers;

namespace Weir.Cli.Tests.UserCode;

/// <summary>A workload as a newcomer writes it: a parameter, a set-up, an operation and a check of what came out.</summary>
public sealed class Counting : IWorkload, IDisposable
{
    private long _sum;
    private bool _isSetUp;

    public int Step { get; set; } = 1;

    public ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        _isSetUp = true;
        return default;
    }

    public ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        _sum = 0;
        return default;
    }

    public Operation CreateOperation(WorkerContext context) => Operation.Of(() => Interlocked.Add(ref _sum, _isSetUp ? Step : 0));

    public string? Check(RoundTotals round) => _sum == Step * round.AllExecuted ? null : $"The sum is {_sum} after {round.AllExecuted} steps of {Step}.";

    public void Dispose() => Console.WriteLine($"A step of {Step} is disposed of.");
}

/// <summary>A workload whose parameters are its constructor's.</summary>
public sealed class Waiting(TimeSpan time, Kind kind = Kind.Delay) : IWorkload
{
    public Operation CreateOperation(WorkerContext context) =>
        kind == Kind.Delay ? Operation.OfAsync(() => Task.Delay(time, TimeProvider.System)) : Operation.OfAsync(static async Task () => await Task.Yield());
}

public enum Kind
{
    Delay,
    Yield,
}

/// <summary>A workload that goes wrong where it is told to.</summary>
public sealed class Failing : IWorkload
{
    public string Where { get; set; } = "";

    public ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken) =>
        Fails("setup") ? throw new IOException("The file is gone.") : default;

    public ValueTask BeginRoundAsync(CancellationToken cancellationToken) => Fails("begin") ? throw new IOException("The file is gone.") : default;

    public Operation CreateOperation(WorkerContext context) => Fails("create") ? throw new IOException("The file is gone.")
        : Fails("print") ? Operation.Of(static () => Console.WriteLine("It prints."))
        : Fails("hang") ? Operation.OfAsync(static () => new TaskCompletionSource().Task)
        : Operation.Of(() => Fails("operation") ? throw new IOException("The file is gone.") : 1);

    public string? Check(RoundTotals round) => Fails("check") ? throw new IOException("The file is gone.") : Fails("wrong") ? "The file is another." : null;

    public ValueTask CleanupAsync() => Fails("cleanup") ? throw new IOException("The file is gone.") : default;

    private bool Fails(string where) => Where == where;
}

/// <summary>A plain class: its methods are measured on one object.</summary>
public sealed class Lookups(int size = 100) : IDisposable
{
    private readonly int[] _numbers = [.. Enumerable.Range(0, size)];
    private int _calls;

    public bool IsWarm { get; init; }

    public int Number => _numbers.Length;

    public int Old() => Array.IndexOf(_numbers, _numbers[^1]) + Count();

    public async ValueTask<int> NewAsync(CancellationToken stop)
    {
        await Task.Yield();
        return stop.CanBeCanceled ? Count() : throw new InvalidOperationException("There is no token.");
    }

    public void Dispose() => Console.WriteLine($"{size} numbers, {(IsWarm ? "warm" : "cold")}: {(_calls > 0 ? "used" : "unused")}.");

    private int Count() => Interlocked.Increment(ref _calls);
}

/// <summary>Static methods with a static parameter, and of a known cost.</summary>
public static class Allocations
{
    // The header of an array of bytes has 24 of them here.
    public static int Bytes { get; set; } = 1000;

    public static byte[] Array() => new byte[Bytes - 24];

    public static int Nothing() => Bytes;
}

public abstract class Abstract : IWorkload
{
    public abstract Operation CreateOperation(WorkerContext context);
}

public sealed class Unmakeable(Uri address) : IWorkload
{
    public Operation CreateOperation(WorkerContext context) => Operation.Of(() => address);
}

public class Awkward<T>
{
    public T? Value { get; set; }

    public T? Get() => Value;
}

public static class Signatures
{
    public static async void FireAndForget() => await Task.Yield();

    public static int WithArguments(int[] numbers, string? text) => numbers.Length + (text ?? "").Length;

    public static T? Generic<T>() => default;
}

public sealed class Constructing
{
    private readonly int _number;

    public Constructing() => _number = File.Exists("") ? 1 : throw new IOException("The file is gone.");

    public int Call() => _number;
}

/// <summary>Takes four seconds to end.</summary>
public sealed class Lingering : IDisposable
{
    private int _calls;

    public int Call() => ++_calls;

    public void Dispose()
    {
        using ManualResetEventSlim never = new();
        never.Wait(TimeSpan.FromSeconds(4));
    }
}
