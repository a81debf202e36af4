namespace Weir.Core;

/// <summary>
/// What <c>Lock</c> is on .NET 8, which has none: the part of System.Threading.Lock that the libraries use, over the object's own monitor. A <c>lock</c>
/// statement takes the same monitor.
/// </summary>
internal sealed class MonitorLock
{
    public bool IsHeldByCurrentThread => Monitor.IsEntered(this);

    public Scope EnterScope()
    {
        Monitor.Enter(this);
        return new Scope(this);
    }

    public readonly ref struct Scope
    {
        private readonly MonitorLock _entered;

        internal Scope(MonitorLock entered) => _entered = entered;

        public void Dispose() => Monitor.Exit(_entered);
    }
}
