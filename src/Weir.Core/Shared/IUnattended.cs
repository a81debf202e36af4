#if WEIR_RESILIENCE
namespace Weir.Resilience;
#else
namespace Weir.Core;
#endif

/// <summary>
/// What has work on threads on which no caller is above it: those of timers and of the pool, and its own. What such work throws would end the process; see
/// <see cref="Unattended"/>.
/// </summary>
internal interface IUnattended
{
    /// <summary>Work of this threw, which it should not. This fails with it, and releases everybody who waits for it.</summary>
    void WorkFailed(Exception error);
}
