using System.Diagnostics;

namespace Weir.Observability;

/// <summary>The span of one item, over all its attempts.</summary>
internal sealed class ItemTrace(Activity activity)
{
    public Activity Activity { get; } = activity;

    /// <summary>The number of attempts so far. Attempts of one item never overlap.</summary>
    public int Attempts { get; set; }
}
