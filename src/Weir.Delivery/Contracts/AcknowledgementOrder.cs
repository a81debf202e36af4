namespace Weir.Delivery;

/// <summary>In which order a source can be told that batches are done.</summary>
public enum AcknowledgementOrder
{
    /// <summary>In the order of delivery only: an acknowledged position means that everything before it is done as well.</summary>
    Delivery,

    /// <summary>In any order, each batch by itself.</summary>
    Any,
}
