namespace Weir.Core;

/// <summary>
/// What <c>Lock</c> is on .NET 8, which has none: the part of System.Threading.Lock that the libraries use, over the object's own monitor, which a <c>lock</c>
/// statement takes.
/// </summary>
internal sealed class MonitorLock
{
    public bool IsHeldByCurrentThread => Monitor.IsEntered(this);
}
