using System.Runtime.ExceptionServices;

namespace Weir.Lab.Benchmarks.Engine;

/// <summary>Counts the exceptions that any thread throws while it lives.</summary>
internal sealed class ExceptionCounter : IDisposable
{
    private long _count;

    public ExceptionCounter() => AppDomain.CurrentDomain.FirstChanceException += Increment;

    public long Count => Volatile.Read(ref _count);

    public void Dispose() => AppDomain.CurrentDomain.FirstChanceException -= Increment;

    private void Increment(object? sender, FirstChanceExceptionEventArgs args) => Interlocked.Increment(ref _count);
}
