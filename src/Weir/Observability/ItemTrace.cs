using System.Diagnostics;

namespace Weir.Observability;

/// <summary>The span of one item, over all its attempts.</summary>
internal sealed class ItemTrace(Activity activity)
{
    public Activity Activity { get; } = activity;

    /// <summary>The attempts so far. Attempts of one item come one after the other.</summary>
    public int Attempts { get; set; }
}
