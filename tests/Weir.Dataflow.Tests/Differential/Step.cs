namespace Weir.Dataflow.Tests.Differential;

/// <summary>What a program does to a block.</summary>
public enum Step
{
    Post,
    PostMore,
    Send,
    Offer,
    OfferToConsume,
    Take,
    TakeMore,
    Link,
    LinkPropagating,
    LinkFirst,
    LinkForTwo,
    Unlink,
    TargetAccepts,
    TargetPostpones,
    TargetDeclines,
    TargetDeclinesForever,
    Consume,
    Reserve,
    Release,
    ReceiveLater,
    WaitForOutput,
    CancelSend,
    Trigger,
    PostThrowing,
    PostCancelling,
    Complete,
    Fault,
    Cancel,
}
