using System.Threading.Tasks.Dataflow;

namespace Weir.Explore.Model;

/// <summary>The default scheduler of blocks.</summary>
[Replaces("System.Threading.Tasks.Dataflow.DataflowBlockOptions")]
internal static class BlockOptions
{
#pragma warning disable IDE1006 // The name of the property's method.
    public static TaskScheduler get_TaskScheduler(DataflowBlockOptions options) => PoolScheduler.InPlaceOf(options.TaskScheduler);
}
