namespace Weir.Lab.Workers;

/// <summary>What follows on a round of an arm.</summary>
internal enum RoundEnd
{
    /// <summary>The next arm.</summary>
    Next,

    /// <summary>The same round of the same arm again, because the machine was disturbed.</summary>
    Again,

    /// <summary>Nothing: the run is over.</summary>
    Over,
}
