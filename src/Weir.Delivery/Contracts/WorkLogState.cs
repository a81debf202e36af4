namespace Weir.Delivery;

/// <summary>Whether a server still has the log that a change stream needs.</summary>
public enum WorkLogState
{
    /// <summary>It has it, within the size of the log that it always keeps.</summary>
    Reserved,

    /// <summary>It has it, and keeps more of its log than it would without the stream.</summary>
    Extended,

    /// <summary>It no longer promises it, and may remove it at its next checkpoint. A stream that catches up before is saved.</summary>
    Unreserved,

    /// <summary>It has removed some of it: changes are lost.</summary>
    Lost,
}
