namespace Weir.Dataflow.Cores;

/// <summary>What became of a worker that found another one leading.</summary>
internal enum StandbyResult
{
    /// <summary>Nobody leads: it works as it likes.</summary>
    Free,

    /// <summary>It has taken the lead.</summary>
    Leads,

    /// <summary>It is no worker any more.</summary>
    Left,
}
