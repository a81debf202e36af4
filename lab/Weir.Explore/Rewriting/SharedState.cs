namespace Weir.Explore.Rewriting;

/// <summary>What a call of the platform may read and change that other threads see.</summary>
internal enum SharedState
{
    /// <summary>Anything that is not a plain field: what is not known.</summary>
    Unknown,

    /// <summary>Nothing.</summary>
    None,

    /// <summary>It reads the object that it is called on.</summary>
    Looks,

    /// <summary>It may change the object that it is called on.</summary>
    Uses,

    /// <summary>It reads other objects of the platform, such as the list of an enumerator.</summary>
    Enumerates,

    /// <summary>It reads plain fields.</summary>
    ReadsAll,

    /// <summary>It gives out references into an object of the platform.</summary>
    Aliases,

    /// <summary>It ends a task.</summary>
    EndsTask,

    /// <summary>It makes what a listener sees, or listens.</summary>
    ChangesInstruments,

    /// <summary>It tells a listener.</summary>
    UsesInstruments,
}
