namespace Weir.Dataflow.Tests.Differential;

/// <summary>One step and the number that chooses what it is done to.</summary>
public readonly record struct Instruction(Step Step, int Which)
{
    // How often each step is drawn. Ends are rare, or programs would end before anything happens.
    private static readonly Step[] Deck =
    [
        .. Enumerable.Repeat(Step.Post, 10), .. Enumerable.Repeat(Step.PostMore, 5), .. Enumerable.Repeat(Step.Send, 8),
        .. Enumerable.Repeat(Step.Offer, 8), .. Enumerable.Repeat(Step.OfferToConsume, 4), .. Enumerable.Repeat(Step.Take, 8),
        .. Enumerable.Repeat(Step.TakeMore, 4), .. Enumerable.Repeat(Step.Link, 5), .. Enumerable.Repeat(Step.LinkPropagating, 3),
        .. Enumerable.Repeat(Step.LinkFirst, 2), .. Enumerable.Repeat(Step.LinkForTwo, 2), .. Enumerable.Repeat(Step.Unlink, 3),
        .. Enumerable.Repeat(Step.TargetAccepts, 4), .. Enumerable.Repeat(Step.TargetPostpones, 5), .. Enumerable.Repeat(Step.TargetDeclines, 3),
        Step.TargetDeclinesForever, .. Enumerable.Repeat(Step.Consume, 5), .. Enumerable.Repeat(Step.Reserve, 4),
        .. Enumerable.Repeat(Step.Release, 4), .. Enumerable.Repeat(Step.ReceiveLater, 3), .. Enumerable.Repeat(Step.WaitForOutput, 3),
        .. Enumerable.Repeat(Step.CancelSend, 2), .. Enumerable.Repeat(Step.Trigger, 3), Step.PostThrowing,
        .. Enumerable.Repeat(Step.PostCancelling, 2), .. Enumerable.Repeat(Step.Complete, 2), Step.Fault, Step.Cancel,
    ];

    public static Instruction Of(int drawn)
    {
        int positive = drawn & int.MaxValue;
        return new Instruction(Deck[positive % Deck.Length], positive / Deck.Length);
    }

    public override string ToString() => $"{Step}({Which})";
}
