namespace Weir.Delivery;

/// <summary>The order in which the batches of a source can be acknowledged.</summary>
public enum AcknowledgementOrder
{
    /// <summary>Only in the order of delivery. An acknowledged position means that everything before it is also done.</summary>
    Delivery,

    /// <summary>In any order, each batch independently.</summary>
    Any,
}
