import { Component, type ComponentType, createElement, type VNode } from "preact";

/** Draws again only when a property is another. */
export function memo<P extends object>(inner: (props: P) => VNode | null): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>) {
      const keys = new Set([...Object.keys(next), ...Object.keys(this.props)]) as Set<keyof P>;
      return [...keys].some((key) => next[key] !== this.props[key]);
    }
    override render() {
      return createElement(inner, this.props as P);
    }
  };
}
