#if WEIR_RESILIENCE
namespace Weir.Resilience;
#else
namespace Weir.Core;
#endif

/// <summary>What is decided once about results of a type.</summary>
internal static class DiscardedResult<TResult>
{
    /// <summary>Whether one may be disposable. If not, nothing is ever looked at.</summary>
    public static readonly bool MayBeDisposable = DiscardedResult.MayBeDisposable(typeof(TResult));
}
