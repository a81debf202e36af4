using Weir.Resilience;

namespace Weir.Policies;

/// <summary>The policies of one attempt, while it uses those of its keys.</summary>
internal sealed class KeyedGuard(AttemptGuard guard, KeyedUse use)
{
    public AttemptGuard Guard => guard;

    public void Release() => use.Release();
}
