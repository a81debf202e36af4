namespace Weir.Dataflow.Links;

/// <summary>An entry of a <see cref="NodeList{TNode}"/>.</summary>
internal abstract class ListNode<TNode>
    where TNode : ListNode<TNode>
{
    public TNode? Previous { get; set; }

    public TNode? Next { get; set; }

    public bool IsListed { get; set; }
}
