namespace Weir.Dataflow.Links;

/// <summary>A message that a full target asked to keep: in a source that offered it, or in somebody's pending send.</summary>
internal abstract class PostponedNode<T> : ListNode<PostponedNode<T>>;
