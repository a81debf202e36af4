using System.Runtime.InteropServices;

namespace Weir.Hosting;

/// <summary>Calls something at the second signal that asks the process to end. The first one is the host's, which stops the application.</summary>
internal sealed class SecondSignal : IDisposable
{
    private static readonly PosixSignal[] Asking = [PosixSignal.SIGINT, PosixSignal.SIGTERM, PosixSignal.SIGQUIT];
    private readonly Action _abort;
    private readonly IDisposable[] _registrations;
    private int _count;

    public SecondSignal(Action abort, Func<PosixSignal, Action<PosixSignalContext>, IDisposable>? subscribe = null)
    {
        _abort = abort;
        subscribe ??= PosixSignalRegistration.Create;
        _registrations = [.. Asking.Select(signal => subscribe(signal, OnSignal))];
    }

    public void Dispose()
    {
        foreach (IDisposable registration in _registrations)
        {
            registration.Dispose();
        }
    }

    // This does not decide whether the process ends. The host's handler does: without one, the first signal has ended it already.
    private void OnSignal(PosixSignalContext context)
    {
        if (Interlocked.Increment(ref _count) >= 2)
        {
            _abort();
        }
    }
}
