namespace Weir.Core.Sources;

/// <summary>What a source leaves over of which every item ran: one object, so that whoever looks for gaps sees at once that there are none.</summary>
internal static class NothingLeft
{
    public static readonly IEnumerable<(long First, int Count)> Ranges = [];
}
